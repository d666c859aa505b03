"""The command `mercer`: one short module per subcommand."""
