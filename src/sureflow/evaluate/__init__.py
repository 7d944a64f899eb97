"""A model against runs that it has not seen: errors and error bars by domain, region of the flow and variable."""
