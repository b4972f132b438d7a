"""What each protocol operation means, whoever asks: HTTP, a schedule or a program."""
