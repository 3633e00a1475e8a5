"""What the product does with each kind of data; `table.KINDS` lists them."""
