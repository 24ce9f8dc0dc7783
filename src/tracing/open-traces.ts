// Opens traces, if they are configured. Without them nothing is loaded and nothing is wrapped.
import type { EventEmitter } from 'node:events'
import type { FastifyInstance } from 'fastify'

/** Adds spans to what it is given. Call it before the first request. */
export type Traces = {
  traceRequests(app: FastifyInstance): void
  /** The engine has a method `search`. */
  traceEngine(engine: object): void
  /** The pool emits `connect` with each new connection. */
  tracePool(pool: EventEmitter): void
  traceRedis(client: object): void
  /** Sends the spans that wait, and resolves. */
  stop(): Promise<void>
}

const packages = ['api', 'exporter-trace-otlp-http', 'resources', 'sdk-trace']
  .map((name) => `@opentelemetry/${name}`)
  .join(' ')

/**
 * Returns null if `endpoint` is undefined. `sampledShare` is the share of requests that are traced
 * if their caller has not decided, from 0 to 1. Throws an error that says what to install if the
 * packages are missing.
 */
export async function openTraces(
  endpoint: string | undefined,
  sampledShare: number,
): Promise<Traces | null> {
  if (endpoint === undefined) return null
  const { createTraces } = await import('./traces.ts').catch((cause: unknown) => {
    throw new Error(
      `OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages of OpenTelemetry are missing: ` +
        `install ${packages}, or leave it out.`,
      { cause },
    )
  })
  return createTraces(sampledShare)
}
