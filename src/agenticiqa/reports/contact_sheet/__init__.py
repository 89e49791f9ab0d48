"""All pictures of an audit on one page, to filter, sort, select and export; and a few of them in a notebook."""
