"""Ridge problems: the bordered linear system, solved by factors, iterations or features."""
