"""What a call may take: time until a deadline, and memory."""
