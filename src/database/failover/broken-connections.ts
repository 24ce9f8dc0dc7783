// Tells errors of a broken connection from other errors.

/** The error of a connection that this service closed or rejected, because of its server. */
export class BrokenConnectionError extends Error {}

/** Thrown for a connection to a server that is not the primary. */
export class NotPrimaryError extends BrokenConnectionError {
  constructor() {
    super('This PostgreSQL is a replica, not the primary.')
  }
}

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
])
/** SQLSTATE: connection exceptions, and a server that stops, has crashed or is starting. */
const serverCodes = /^(08|57P0[123])/
/** The beginnings of the messages of errors of the driver that have no code. */
const driverMessages = [
  'Connection terminated',
  // The error of the rollback, after a transaction has lost its connection.
  'Client has encountered a connection error',
  'Client was closed',
  'timeout expired',
]

/** Whether the connection, not the statement, is the cause of the error. */
export function isBrokenConnection(error: unknown): boolean {
  if (error instanceof BrokenConnectionError) return true
  if (error instanceof AggregateError) return error.errors.every(isBrokenConnection)
  if (!(error instanceof Error)) return false
  const code = String((error as { code?: unknown }).code ?? '')
  const hasMessage = driverMessages.some((start) => error.message.startsWith(start))
  return networkCodes.has(code) || serverCodes.test(code) || hasMessage
}
