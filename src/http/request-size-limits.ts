// How large a request may be. Node limits the URL and the headers to 16 kB together.

/** No route accepts a body. 1 kB leaves room for bodies that clients send needlessly. */
export const maxBodyBytes = 1024
/** The maximum length of a parameter in the path, such as the token of a quote link. */
export const maxParameterLength = 500
