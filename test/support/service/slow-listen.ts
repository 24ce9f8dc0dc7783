// Lets a program that a test starts wait before it listens on PORT.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fastStart } from '../run-program.ts'

/** What the program prints when the wait begins, and how long it waits. */
export const delayedListen = { message: 'waits before it listens', ms: 2_000 }

const preload = pathToFileURL(join(import.meta.dirname, 'preload-slow-listen.ts')).href

/** To be added to the environment of the program. */
export const withSlowListen = { NODE_OPTIONS: `${fastStart.NODE_OPTIONS} --import=${preload}` }
