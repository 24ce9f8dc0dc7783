// @ts-check
export {}
