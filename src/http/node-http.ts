// Constants of node:http. An import statement would also load Node's fetch, which takes 50 ms at
// the start. src/app.ts says why the start must be short.
export const { METHODS, STATUS_CODES } = process.getBuiltinModule('node:http')
