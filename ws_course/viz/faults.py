"""A fault as a small table beside the lines of the kernel that it names."""

from __future__ import annotations

from html import escape

from ws_course.faults import Fault, Site

CONTEXT = 3

# Colours with an alpha channel and inherited text: the same table reads on a light and on a dark page.
_STYLE = {
    "table": "border-collapse:collapse;border-left:4px solid #B3261E;margin:0.4em 0;max-width:60em",
    "head": "text-align:left;padding:0.3em 0.8em;font-weight:bold;background:rgba(179,38,30,0.12)",
    "text": "text-align:left;padding:0.3em 0.8em;white-space:normal",
    "code": "text-align:left;padding:0.1em 0.8em;overflow-x:auto",
    "pre": "margin:0;padding:0;font:90%/1.35 var(--jp-code-font-family,monospace);white-space:pre;"
    "background:transparent;color:inherit",
    "number": "opacity:0.6",
    "line": "background:rgba(179,38,30,0.22);font-weight:bold",
}


def fault_html(fault: Fault, source: str = "") -> str:
    """Return the fault as an HTML table: kind and place, sentence, source lines, other places, usual cause.

    ``source`` is the kernel's text; without it, or when the fault names no line of it, no code is shown. Everything
    that comes from the kernel or the fault is escaped.
    """
    place = " · ".join(filter(None, (_place(fault), _who(fault), fault.object)))
    rows = [
        _row("head", f"{escape(fault.kind.value)}<span style='font-weight:normal'> {escape(place)}</span>"),
        _row("text", escape(fault.message)),
    ]
    rows += [_row("code", code)] if (code := excerpt_html(source, fault.line)) else []
    rows += [_row("text", _site(site, source)) for site in fault.others]
    if fault.hint:
        rows.append(_row("text", f"<b>usual cause:</b> {escape(fault.hint)}"))
    return f'<table class="ws-fault" style="{_STYLE["table"]}"><tbody>{"".join(rows)}</tbody></table>'


def excerpt_html(source: str, line: int, context: int = CONTEXT) -> str:
    """Return line ``line`` (1-based) marked, with ``context`` lines around it, as HTML; "" if there is no such line."""
    lines = source.splitlines()
    if not 1 <= line <= len(lines):
        return ""
    shown = range(max(1, line - context), min(len(lines), line + context) + 1)
    width = len(str(shown[-1]))
    html = []
    for n in shown:
        # The arrow says in plain text what the background says in colour.
        number = f"{'&gt;' if n == line else ' '} <span style='{_STYLE['number']}'>{n:>{width}}</span>"
        text = f"{number}  {escape(lines[n - 1])}"
        html.append(f"<mark style='color:inherit;{_STYLE['line']}'>{text}</mark>" if n == line else text)
    return f"<pre style='{_STYLE['pre']}'>{chr(10).join(html)}</pre>"


def _row(kind: str, html: str) -> str:
    return f'<tr style="background:transparent"><td style="{_STYLE[kind]}">{html}</td></tr>'


def _place(at: Fault | Site) -> str:
    return f"{at.file}:{at.line}" if at.line else at.file


def _who(at: Fault | Site) -> str:
    named = (("block", at.block), ("warp", at.warp), ("lane", at.lane))
    return ", ".join(f"{name} {number}" for name, number in named if number is not None)


def _site(site: Site, source: str) -> str:
    """One further place with its line of code, if the source has it."""
    lines = source.splitlines()
    code = lines[site.line - 1].strip() if 1 <= site.line <= len(lines) else ""
    words = escape(" · ".join(filter(None, (_place(site), _who(site), site.what))))
    return f"{words}<br><code>{escape(code)}</code>" if code else words
