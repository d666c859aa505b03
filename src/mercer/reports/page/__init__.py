"""The report of a model: one page of HTML that needs nothing else."""

from mercer.reports.page.report import Report, facts_of, looking, page_of, report
from mercer.reports.page.source import Source
from mercer.reports.page.warnings import cautions

__all__ = ["Report", "Source", "cautions", "facts_of", "looking", "page_of", "report"]
