// Preloaded into the API of the soak test: on SIGWINCH it collects garbage and prints the memory in
// use. Node or the service use the other signals.
process.on('SIGWINCH', () => {
  ;(globalThis as { gc?: () => void }).gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  process.stderr.write(`MEMORY ${heapUsed} ${rss}\n`)
})
