"""What `new` and `plugins new` write.

names   one name -> all names in the code
render  names and templates -> files, as text
write   files -> the disk
make    all of it, and what it may clash with
show    what was made, for a person or a machine

Names and rendering are pure.
"""
