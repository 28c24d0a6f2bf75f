"""One self-contained page: tables, plots, provenance, and the questions to look into.

`template.html`, `page.css` and `page.js` lie here as they are and are put into the page: no network, no framework.
"""
