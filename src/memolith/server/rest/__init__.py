"""What goes over the wire: the names are those of the library's values."""
