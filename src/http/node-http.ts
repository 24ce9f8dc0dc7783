// Constants of node:http. An import statement would also load Node's fetch, which delays the start
// by 50 ms.
export const { METHODS, STATUS_CODES } = process.getBuiltinModule('node:http')
