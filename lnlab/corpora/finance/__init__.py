"""A small grammar of financial news, from which sentences of a wanted label are drawn."""
