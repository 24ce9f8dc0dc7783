// Records the errors of a page for a browser whose driver does not report them. The page loads it
// before its own scripts.
const recordedErrors = []
window.recordedErrors = recordedErrors
const record = (text) => recordedErrors.push(text)
/** Not an error: the rest is delivered with the next frame. */
const isNotice = (message) => /^ResizeObserver loop/.test(message)
addEventListener(
  'error',
  ({ message, target }) => {
    if (!isNotice(message)) record(`error: ${message ?? target?.src ?? target?.href}`)
  },
  true,
)
addEventListener('unhandledrejection', ({ reason }) => record(`exception: ${reason}`))
addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
  record(`policy: ${effectiveDirective} ${blockedURI}`),
)
const { error } = console
console.error = (...args) => {
  record(`console: ${args.join(' ')}`)
  error(...args)
}
