// The Content-Security-Policy of the pages / and /dashboard.

/**
 * Allows scripts, styles, images and requests of this service only. Forbids inline code, frames
 * and forms. No text can become markup or code (trusted types), not even by mistake.
 */
export const pageContentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')
