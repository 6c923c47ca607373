"""What every channel needs: settings, memory, order, reception, chunks."""
