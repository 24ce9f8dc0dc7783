create table customer_groups (name text primary key);
alter table quotes add constraint quotes_customer_group_fkey
  foreign key (customer_group) references customer_groups;
