// Describes an error for logs and the command line: in one line, or with the stack of a bug.
import { redactSecrets } from './log/log-redaction.ts'

/**
 * Returns the message of an error. For a failed request to the search engine it adds the cause and
 * removes passwords and the query string, which may be long.
 */
export function describeError(error: unknown): string {
  // Node throws this if it has tried several addresses of a host.
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(describeError).join('; ')
  if (!(error instanceof Error)) return String(error)
  const { name, message, cause } = error
  if (isFailedFetch(error) && cause !== undefined) return describeError(cause)
  // The message of the Meilisearch client does not include the cause.
  if (name === 'MeilisearchRequestError')
    return withoutQueryStrings(redactSecrets(`${message}: ${describeError(cause)}`))
  return message || error.constructor.name
}

/**
 * Returns the stack of an error and of each of its causes, in lines. Unlike the inspection of Node,
 * it has no other fields of the errors: those of the driver contain values of the database.
 */
export function describeStacks(error: unknown): string {
  const stacks: string[] = []
  const described = new Set<unknown>()
  const add = (current: unknown) => {
    if (described.has(current)) return
    described.add(current)
    if (!(current instanceof Error)) return void stacks.push(String(current))
    stacks.push(current.stack ?? current.message)
    if (current instanceof AggregateError) for (const part of current.errors) add(part)
    if (current.cause !== undefined) add(current.cause)
  }
  add(error)
  return withoutQueryStrings(redactSecrets(stacks.join('\nCaused by: ')))
}

/** The errors that JavaScript itself throws if the code is wrong. */
const defects = [TypeError, RangeError, ReferenceError, SyntaxError, URIError]

/**
 * Returns what to print if a program cannot start or fails. Errors of the service are written for
 * the operator, and those of the system (`EADDRINUSE`) and of PostgreSQL explain themselves: their
 * message is enough. A defect has its stack too, and that of each cause.
 */
export function describeFatalError(error: unknown): string {
  const isDefect = defects.some((kind) => error instanceof kind) && !isFailedFetch(error)
  return isDefect ? describeStacks(error) : describeError(error)
}

/** `fetch` throws a TypeError if the server cannot be reached. */
const isFailedFetch = (error: unknown) => error instanceof Error && error.message === 'fetch failed'

function withoutQueryStrings(text: string): string {
  return text.replace(/(https?:\/\/[^\s?]+)\?\S*/g, '$1')
}
