"""Who may ask what: keys, origins, limits before a request is read."""
