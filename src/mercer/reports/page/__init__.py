"""The report of a model: one page of HTML that needs nothing else."""

from mercer.reports.page.report import Report, report

__all__ = ["Report", "report"]
