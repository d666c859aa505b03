"""Leading eigenvectors."""
