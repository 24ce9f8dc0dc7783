alter table quotes add column customer_group text;
create index quotes_customer_group on quotes (customer_group);
