"""A network in one HTML file: its weights, what evaluates them, and what shows them."""
