"""What a conversation costs with each checkpoint saver, measured side by side."""
