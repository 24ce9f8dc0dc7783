// Loaded into the process that the soak watches: collects garbage on SIGUSR2 and tells what is really held.
process.on('SIGUSR2', () => {
  ;(globalThis as { gc?: () => void }).gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  process.stderr.write(`HELD ${heapUsed} ${rss}\n`)
})
