"""Sessions, requests and commands of peers."""
