"""`python -m mercer.cli`, for where the command is not on the path."""

from mercer.cli.main import main

main(prog_name="mercer")
