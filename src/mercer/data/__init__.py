"""What comes in: arrays, tables and the data sets that travel with the package."""
