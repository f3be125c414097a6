"""The ledger as a terminal table, Markdown, JSON and one self-contained HTML page.

The figures as files.
"""

from ..ledger.findings import Findings as Findings
from ..ledger.findings import findings as findings
from ..ledger.html import ledger_html as ledger_html
from ..ledger.latex import ledger_latex as ledger_latex
from ..ledger.markdown import ledger_markdown as ledger_markdown
from ..ledger.tally import Group as Group
from ..ledger.tally import Tally as Tally
from ..ledger.tally import counts as counts
from ..ledger.text import ledger_table as ledger_table
from ..ledger.text import ledger_text as ledger_text
from ..verbs.draw import draw_figures as draw_figures
from .write import Report as Report
from .write import write_report as write_report
