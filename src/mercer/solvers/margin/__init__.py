"""Problems with a margin: support vector classification and regression."""
