"""What session logs say between their requests: the pieces that each prompt grew by."""
