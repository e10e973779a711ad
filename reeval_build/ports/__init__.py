"""The protocols behind which the outside world stands, and the values that cross them."""
