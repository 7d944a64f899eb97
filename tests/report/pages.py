"""Reading the report as a browser does."""

from html.parser import HTMLParser

VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """What a page holds; refuses tags that do not close."""

    def __init__(self, page: str):
        super().__init__()
        self.open, self.sources, self.headings, self.words = [], [], [], ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
