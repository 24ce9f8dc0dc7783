// Loaded before each test file. tap follows every promise with async_hooks, to know to which test
// an uncaught error belongs. That takes up to a quarter of a process's time. Without it, tap gives
// such an error to its file, or the process ends with it. Both are failures.
import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const { createHook } = asyncHooks
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false })
syncBuiltinESMExports()
