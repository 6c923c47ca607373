"""hermes policy: what the policy says about a shell command."""
