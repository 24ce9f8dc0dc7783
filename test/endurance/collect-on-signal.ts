// Loaded into the process that the soak watches: collects garbage on SIGWINCH (no other signal is left to us) and tells what is really held.
process.on('SIGWINCH', () => {
  ;(globalThis as { gc?: () => void }).gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  process.stderr.write(`HELD ${heapUsed} ${rss}\n`)
})
