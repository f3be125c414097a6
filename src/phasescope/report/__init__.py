"""The ledger as a terminal table, Markdown, JSON and one self-contained HTML page; the figures as files."""

from .drawings import draw_figures as draw_figures
from .findings import Findings as Findings
from .findings import Tally as Tally
from .findings import counts as counts
from .findings import findings as findings
from .page import ledger_html as ledger_html
from .text import ledger_markdown as ledger_markdown
from .text import ledger_table as ledger_table
from .text import ledger_text as ledger_text
from .writing import Report as Report
from .writing import write_report as write_report
