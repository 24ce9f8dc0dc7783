// Tells broken connections, and a PostgreSQL that cannot answer now, from other errors.

import { TimeoutError } from 'p-timeout'
import { DatabaseError } from 'pg'

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

/** The message of the pool if no connection becomes free in time. */
const poolTimeoutMessage = 'timeout exceeded when trying to connect'

/** Whether no connection of the pool became free, or was opened, in time. */
export const isPoolTimeout = (error: Error) => error.message === poolTimeoutMessage

/** Whether the connection, not the statement, is the cause of the error. */
export function isBrokenConnection(error: unknown): boolean {
  if (error instanceof BrokenConnectionError) return true
  if (error instanceof AggregateError) return error.errors.every(isBrokenConnection)
  if (!(error instanceof Error)) return false
  const code = String((error as { code?: unknown }).code ?? '')
  const hasMessage = driverMessages.some((start) => error.message.startsWith(start))
  return networkCodes.has(code) || serverCodes.test(code) || hasMessage
}

/**
 * SQLSTATE: logins that are refused, a read-only server, conflicts, a lack of resources, locks that
 * are not available, cancelled statements, and failures of the system.
 */
const unavailableCodes = /^(28|3D000|25006|40|53|55P03|57|58)/

/**
 * Whether PostgreSQL cannot be reached, takes too long or says that it cannot answer now. Then it
 * is worth trying again. Any other error is a defect of the service.
 */
export function isPostgresUnavailable(error: unknown): boolean {
  if (isBrokenConnection(error)) return true
  if (error instanceof AggregateError) return error.errors.every(isPostgresUnavailable)
  if (!(error instanceof Error)) return false
  if (error instanceof DatabaseError) return unavailableCodes.test(error.code ?? '')
  const isTimeout = error instanceof TimeoutError || isPoolTimeout(error)
  return isTimeout || 'syscall' in error
}
