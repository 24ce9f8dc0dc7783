// The options of the Fastify server: connection timeouts, request sizes, validation, trusted
// proxies.
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type FastifyHttpOptions, type FastifyInstance, LogController } from 'fastify'
import { logSerializers } from '../monitoring/log/log-redaction.ts'
import { answerUndecodableUrl, answerUnparsable, maxHeadBytes } from './malformed-requests.ts'
import type { RequestCounter, RequestIdGenerator } from './request-log.ts'

// A client on a slow line needs seconds. Only slowloris attacks need longer.
const requestHeadMs = 10_000
// No path reads a body, so the limit of the head is enough.
const wholeRequestMs = 10_000
// The default of Node, 30 s, would be added to the two limits above.
const slowRequestCheckMs = 1_000
// No response may take that long.
const silentConnectionMs = 30_000

/** No route needs a body, but some clients send a small one. */
const maxBodyBytes = 1024
/** The maximum length of a parameter in the path, such as the token of a quote link. */
const maxParameterLength = 500

export type LoggerOptions = { level: string; stream?: { write(line: string): void } }

type FastifySettings = {
  logger: LoggerOptions
  /** Addresses or networks whose X-Forwarded-For is trusted. */
  trustedProxies: string[]
  keepAliveMs: number
  generateRequestId: RequestIdGenerator
  counter: RequestCounter
  rewriteUrl(url: string): string
}

export function buildServerOptions({
  logger,
  trustedProxies,
  keepAliveMs,
  generateRequestId,
  counter,
  rewriteUrl,
}: FastifySettings) {
  return {
    logger: { ...logger, serializers: logSerializers },
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: generateRequestId,
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    connectionTimeout: silentConnectionMs,
    requestTimeout: wholeRequestMs,
    keepAliveTimeout: keepAliveMs,
    bodyLimit: maxBodyBytes,
    // While the process stops, requests on keep-alive connections are answered as usual.
    return503OnClosing: false,
    http: {
      maxHeaderSize: maxHeadBytes,
      headersTimeout: requestHeadMs,
      connectionsCheckingInterval: slowRequestCheckMs,
    },
    routerOptions: { maxParamLength: maxParameterLength },
    // Unknown parameters are not removed, because a misspelt filter must be an error. `verbose`
    // adds the schema to the error, so that a problem can say what is allowed.
    // Checking the schemas would take 30 ms at the start, which must be short (src/app.ts).
    // test/http/route-schemas.test.ts checks them.
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: true,
        allErrors: true,
        verbose: true,
        validateSchema: false,
      },
    },
    // Fastify calls this with the app as `this`.
    clientErrorHandler(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket) {
      answerUnparsable(this, counter, error, socket)
    },
    frameworkErrors: (_error, request, reply) => answerUndecodableUrl(counter, request, reply),
    rewriteUrl: ({ url = '/' }) => rewriteUrl(url),
  } satisfies FastifyHttpOptions<Server>
}
