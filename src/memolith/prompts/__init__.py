"""What models are asked, and how their replies are read: one file a prompt, all of it pure."""
