"""What several commands share: options, inputs, and how a failure is said."""
