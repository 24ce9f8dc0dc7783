// Loaded into the process that the soak watches: collects garbage on SIGUSR2, so that its heap shows what is really held.
process.on('SIGUSR2', () => (globalThis as { gc?: () => void }).gc?.())
