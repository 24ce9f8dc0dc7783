// Spans for OpenTelemetry: requests, and what each of them asks of the servers. This file is only
// loaded if OTEL_EXPORTER_OTLP_ENDPOINT is set, because its packages are optional.
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { onRequestEnd } from '../http/request-log.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import type { Traces } from './open-traces.ts'

// A collector that is away must not delay a stop.
const lastTracesMs = 1_000
// One request to the collector for many spans. It is the default of the SDK.
export const spanBatch = { ms: 5_000 }

const serviceName = 'trade-quoting-service'

/** The address of the collector is read by the exporter, from OTEL_EXPORTER_OTLP_ENDPOINT. */
export function createTraces(sampledShare: number): Traces {
  const exporter = new LoggingExporter()
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampledShare) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        scheduledDelayMillis: spanBatch.ms,
      }),
    ],
  })
  const tracer = provider.getTracer(serviceName)
  const current = new AsyncLocalStorage<Context>()

  /** Replaces a method by one that has a span, if it is called for a request. */
  function traceMethod<Name extends string>(
    target: Record<Name, (...args: never[]) => unknown>,
    method: Name,
    system: string,
    operationOf: (args: unknown[]) => string,
  ): void {
    const original = target[method] as (...args: unknown[]) => unknown
    const traced = function (this: unknown, ...args: unknown[]): unknown {
      const parent = current.getStore()
      if (parent === undefined) return original.apply(this, args)
      const operation = operationOf(args)
      const span = tracer.startSpan(
        `${system} ${operation}`,
        {
          kind: SpanKind.CLIENT,
          attributes: { 'db.system.name': system, 'db.operation.name': operation },
        },
        parent,
      )
      const result = original.apply(this, args)
      // A method with a callback returns nothing to wait for.
      if (!(result instanceof Promise)) span.end()
      else
        result.then(
          () => span.end(),
          (error: unknown) => {
            // The message may contain what the caller has sent.
            span.setStatus({ code: SpanStatusCode.ERROR })
            span.setAttribute('error.type', error instanceof Error ? error.name : typeof error)
            span.end()
          },
        )
      return result
    }
    target[method] = traced as (typeof target)[Name]
  }

  return {
    traceRequests(app) {
      exporter.logTo(app.log)
      traceRequests(app, tracer, current)
    },
    traceEngine: (engine) => traceMethod(engine as never, 'search', 'meilisearch', () => 'search'),
    tracePool(pool) {
      pool.on('connect', (client) =>
        traceMethod(client as never, 'query', 'postgresql', ([query]) => firstWordOf(query)),
      )
    },
    traceRedis: (client) =>
      traceMethod(client as never, 'sendCommand', 'redis', ([command]) =>
        String((command as { name: string }).name).toUpperCase(),
      ),
    async stop() {
      // Lost spans must not make the stop of the process fail.
      const sending = provider.shutdown().catch(() => undefined)
      await Promise.race([sending, sleep(lastTracesMs, undefined, { ref: false })])
    },
  }
}

/** Logs once per cause that spans cannot be sent, and that they can again. The SDK logs neither. */
class LoggingExporter extends OTLPTraceExporter {
  #failures: FailureLog | undefined

  /** Call it before the first span ends. */
  logTo(log: TaskLog): void {
    this.#failures = new FailureLog(log, {
      failure: (cause) => `Traces cannot be sent (${cause})`,
      recovery: 'Traces can be sent again',
    })
  }

  override export(...[spans, report]: Parameters<SpanExporter['export']>): void {
    super.export(spans, (result) => {
      if (result.error) this.#failures?.logFailure(withStatus(result.error))
      else this.#failures?.logSuccess()
      report(result)
    })
  }
}

/** Returns an error with the HTTP status of the collector, if it has answered. */
function withStatus(error: Error & { code?: unknown }): Error {
  return typeof error.code === 'number' ? new Error(`${error.code} ${error.message}`) : error
}

function traceRequests(
  app: FastifyInstance,
  tracer: ReturnType<TracerProvider['getTracer']>,
  current: AsyncLocalStorage<Context>,
): void {
  const spans = new WeakMap<FastifyRequest, ReturnType<typeof tracer.startSpan>>()
  app.addHook('onRequest', (request, _reply, done) => {
    const route = request.routeOptions.url
    const parent = readParent(request.headers.traceparent)
    const span = tracer.startSpan(
      route === undefined ? request.method : `${request.method} ${route}`,
      {
        kind: SpanKind.SERVER,
        attributes: {
          'http.request.method': request.method,
          ...(route !== undefined && { 'http.route': route }),
        },
      },
      parent,
    )
    spans.set(request, span)
    current.run(trace.setSpan(parent, span), done)
  })
  onRequestEnd(app, (request, status) => {
    const span = spans.get(request)
    if (!span) return
    const { source, degraded, reason, code } = request.logFields ?? {}
    span.setAttributes({
      'http.response.status_code': status,
      'tqs.request_id': request.id,
      ...(source !== undefined && { 'tqs.source': source }),
      ...(degraded && { 'tqs.degraded': true }),
      ...(reason !== undefined && { 'tqs.reason': reason }),
      ...(code !== undefined && { 'error.type': code }),
    })
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  })
}

/** Returns the span of the caller from a header of W3C Trace Context, or no parent. */
function readParent(header: string | string[] | undefined): Context {
  const [, traceId, spanId, flags] =
    /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/.exec(String(header)) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags, 16) & 1
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

/** Returns `select`, `insert` and so on: the rest of a statement may contain data. */
function firstWordOf(query: unknown): string {
  const text = typeof query === 'string' ? query : ((query as { text?: string }).text ?? '')
  return /^\s*([a-z]+)/i.exec(text)?.[1]?.toLowerCase() ?? 'query'
}
