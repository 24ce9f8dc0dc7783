// How large a request may be. Node limits the URL and the headers to 16 kB together.

/** No route needs a body, but some clients send a small one. */
export const maxBodyBytes = 1024
/** The maximum length of a parameter in the path, such as the token of a quote link. */
export const maxParameterLength = 500
