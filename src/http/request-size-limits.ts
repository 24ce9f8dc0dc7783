// How large a request may be. The head and the address have the limit of Node, 16 kB together.

/** No path reads a body. */
export const maxBodyBytes = 1024
/** The length of a parameter in the path, such as the token of a quote link. */
export const maxParameterLength = 500
