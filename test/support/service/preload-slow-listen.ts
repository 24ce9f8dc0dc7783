// Delays the start of listening on PORT in a program that a test starts with `withSlowListen`.
import { Server } from 'node:net'
import { delayedListen } from './slow-listen.ts'

const { listen } = Server.prototype
Server.prototype.listen = function (this: Server, ...listenArguments: unknown[]): Server {
  const [options] = listenArguments as [{ port?: number } | undefined]
  const start = () => Reflect.apply(listen, this, listenArguments)
  if (String(options?.port) !== process.env.PORT) return start()
  console.error(delayedListen.message)
  setTimeout(start, delayedListen.ms)
  return this
} as typeof listen
